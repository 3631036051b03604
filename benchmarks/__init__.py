"""Side by side in one run: this program and other ways to do the same, judged at the receiver."""
