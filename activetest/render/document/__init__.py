"""A report as a document of blocks: its blocks, words, extent and outline."""
