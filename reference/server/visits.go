package server

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// visiting are the revisions in which a client can be sent to a page
// (client/elicitation#url-mode-elicitation-requests).
var urlElicitationRevisions = spec.Since(spec.V2025_11_25)

// refusing are those in which a server may refuse a request until a page
// was visited (client/elicitation#url-elicitation-required-error); the next
// revision forbids the code again.
var urlRequiredErrorRevisions = spec.Only(spec.V2025_11_25)

// visitTools are the tools that send the reader to a page of the library. The
// pages are nowhere: their host is reserved for documentation. The desk takes
// a visit for done as soon as the client had the chance to make it.
func libraryURLTools() []*Tool {
	return []*Tool{
		{
			Name: "read_archive", Title: "Read in the closed archive",
			Description: "Reads out a page of the closed archive. The reader agrees to the rules of the archive on a page of the library first.",
			Input:       noArguments(), Hints: readOnlyTool, In: urlElicitationRevisions,
			Asks: func(*Call) []Ask {
				return []Ask{urlElicitation("rules", "archive/rules", "Please agree to the rules of the archive.")}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				if call.Answers["rules"]["action"] != "accept" {
					return textOutcome("The archive stays closed.")
				}
				call.notifyElicitationComplete(stringOf(call.Asked[0].Params["elicitationId"]))
				return textOutcome("Ledger of 1931, page 4: lamp oil, string, one ladder.")
			},
		},
		{
			Name: "renew_card", Title: "Renew a card",
			Description: "Renews the card of the reader, who identifies on a page of the library before the first renewal.",
			Input:       noArguments(), Hints: stateChangingTool, In: urlRequiredErrorRevisions, Run: renewCard,
		},
	}
}

// renewCard refuses until the page was visited, and takes it for visited when
// the client comes again.
func renewCard(_ context.Context, call *Call) Outcome {
	page := urlElicitation("identity", "card/identity", "Please tell on this page who you are.")
	if !page.isSupportedBy(call.Client) {
		return errorOutcome("This needs a client that can send its user to a page.")
	}
	pending, first := call.Session.beginIdentification(stringOf(page.Params["elicitationId"]))
	if first {
		return Outcome{Problem: &Error{spec.LegacyURLElicitationError, "The reader must identify first", Object{"elicitations": []any{page.Params}}}}
	}
	if pending != "" {
		call.notifyElicitationComplete(pending)
	}
	return textOutcome("The card is good for another year.")
}

// visit is an elicitation in URL mode. The address tells nothing about the
// reader and opens nothing by itself (client/elicitation#safe-url-handling).
func urlElicitation(key, path, message string) Ask {
	id := rand.Text()
	return Ask{Key: key, Method: "elicitation/create", Params: Object{
		"mode": "url", "elicitationId": id, "url": fmt.Sprintf("https://library.example/%s?visit=%s", path, id), "message": message,
	}}
}

// visited tells the client that a page was visited, in the revisions that have
// a message for it (client/elicitation#completion-notifications-for-url-mode-elicitation).
func (r *Request) notifyElicitationComplete(id string) {
	const method = "notifications/elicitation/complete"
	if urlRequiredErrorRevisions.Has(r.Revision) {
		r.Send(Frame{Raw: notificationMessage(method, Object{"elicitationId": id}), Kind: wire.Notification, Method: method, Request: r})
	}
}

// sendTo notes that the reader was sent to a page under an id, if nobody was
// before. Else it returns the id that is still pending, once.
func (s *Session) beginIdentification(id string) (pending string, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.identificationBegun {
		s.identificationBegun, s.pendingElicitation = true, id
		return "", true
	}
	pending, s.pendingElicitation = s.pendingElicitation, ""
	return pending, false
}
