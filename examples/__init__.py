"""Writers of a user, checked in a few lines; one of them is wrong on purpose."""
