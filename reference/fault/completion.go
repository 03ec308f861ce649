package fault

// completion are the faults of server/utilities/completion.
func completion() []Fault { return nil }
