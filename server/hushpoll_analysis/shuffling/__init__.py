"""What a trusted shuffler would add to the local guarantee, for analysts who have one."""
