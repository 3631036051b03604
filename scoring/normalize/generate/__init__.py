"""Makes the generated tables anew; needs the word lists named in each file, at run time nothing."""
