"""What a report says: results, findings, headlines, changes between versions, and limits."""
