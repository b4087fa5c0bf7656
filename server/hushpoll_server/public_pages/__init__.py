"""The pages that anybody may open: a survey, its published results, the reference of the API."""
