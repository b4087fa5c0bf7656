"""The commands of training, audits and tuning."""
