"""Questions seen against something else: another question, a group, a wave, the population."""
