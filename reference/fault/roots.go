package fault

// roots are the faults of client/roots.
func roots() []Fault { return nil }
