"""Group metrics from perturbed records alone, with confidence sets."""
