"""Classifiers of scikit-learn that learn from perturbed records, and the encoder of records."""
