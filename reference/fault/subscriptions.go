package fault

// subscriptions are the faults of basic/patterns/subscriptions.
func subscriptions() []Fault { return nil }
