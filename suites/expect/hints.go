package expect

import "github.com/mcpcheck/mcpcheck/suites/check"

// Hints that many checks share.
const (
	// HintReply is the hint of a check whose stimulus mcpcheck sends itself.
	HintReply = "answer the requests of mcpcheck: a check that fails or was not run names those without an answer"

	// HintGetStream is the hint of a check of the stream of a GET.
	HintGetStream = "open a stream at a GET"

	// HintToolLoop is the hint of a check of what the model used during sampling.
	HintToolLoop = "offer a read-only tool that samples again with the uses and results of tools" + check.OrAllow

	// HintOptional is the hint of a check of what the user cannot make the target do.
	HintOptional = "nothing has to be done: a target need not do this, and the check judges it where it happens"
)
