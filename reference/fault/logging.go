package fault

// logging are the faults of server/utilities/logging.
func logging() []Fault { return nil }
