package fault

// security are the faults of the security considerations.
func security() []Fault { return nil }
