package expect

// Hints that many checks share.
const (
	// HintReply is the hint of a check whose stimulus mcpcheck sends itself.
	HintReply = "answer the requests of mcpcheck: a check that fails or was not run names those without an answer"

	// HintOptional is the hint of a check of what the user cannot make the target do.
	HintOptional = "nothing has to be done: a target need not do this, and the check judges it where it happens"
)
