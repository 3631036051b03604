"""What is measured. One file each."""
