"""What every codec promises, checked against its conversations and its fake."""
