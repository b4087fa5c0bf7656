"""Post-processing of fitted classifiers: the predictions change, the classifiers stay."""
