"""Who agrees with whom: runners, cases, bitwise comparison and campaigns."""
