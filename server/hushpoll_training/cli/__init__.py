"""The commands of training, experiments and tuning."""
