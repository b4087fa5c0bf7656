"""From a formula to the columns of a design, in clear and perturbed."""
