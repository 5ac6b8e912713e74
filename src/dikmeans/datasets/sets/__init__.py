"""The named data sets, one file each: where the files lie, how they are read, what is done."""
