package fault

// cancellation are the faults of basic/utilities/cancellation.
func cancellation() []Fault { return nil }
