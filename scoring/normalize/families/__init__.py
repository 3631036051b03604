"""The families of rules, each a function from tokens to tokens."""
