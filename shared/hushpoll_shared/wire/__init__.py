"""What travels between client and server: records, reports, files of records, and problems."""
