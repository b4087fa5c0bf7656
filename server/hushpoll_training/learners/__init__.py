"""Learners, the training algorithms: LightGBM, and some that are private by noise of their own."""
