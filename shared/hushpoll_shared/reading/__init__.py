"""What people bring, read strictly: text files, secrets, tables, numbers, pairs and lists."""
