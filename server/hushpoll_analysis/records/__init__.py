"""From records to indicators, support counts and pair counts."""
