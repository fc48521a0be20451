"""Where real writers are: a catalogue as data, and the fetcher of released engines."""
