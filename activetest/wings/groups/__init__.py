"""Groups as arms: what is known of each, and which to label next (Ji et al. 2021)."""
