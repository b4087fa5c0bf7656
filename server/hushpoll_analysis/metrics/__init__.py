"""Group rates and their comparisons: values, and intervals in closed form."""
