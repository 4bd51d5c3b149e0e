"""What is read from and written to the tables of SQLite: functions on a connection, a file for each noun."""
