"""How reports reach their server: connections, deadlines, retries, and the thread that sends."""
