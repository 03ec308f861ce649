package server

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// urlElicitationRevisions are the revisions that have elicitation in URL mode
// (client/elicitation#url-mode-elicitation-requests).
var urlElicitationRevisions = spec.Since(spec.V2025_11_25)

// urlRequiredErrorRevisions are the revisions in which a server may refuse a
// request until an elicitation in URL mode is complete
// (client/elicitation#url-elicitation-required-error). The next revision forbids
// the code again.
var urlRequiredErrorRevisions = spec.Only(spec.V2025_11_25)

// libraryURLTools returns the tools that use elicitation in URL mode. No server has
// the pages: their host is reserved for documentation. A page counts as visited as
// soon as the client had the opportunity to open it.
func libraryURLTools() []*Tool {
	return []*Tool{
		{
			Name: "read_archive", Title: "Read in the closed archive",
			Description: "Reads out a page of the closed archive. " +
				"The reader agrees to the rules of the archive on a page of the library first.",
			InputSchema: noArguments(), Annotations: readOnly, In: urlElicitationRevisions,
			InputRequests: func(*Call) []InputRequest {
				return []InputRequest{urlElicitation("rules", "archive/rules",
					"Please agree to the rules of the archive.")}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				if call.Answers["rules"]["action"] != "accept" {
					return textOutcome("The archive stays closed.")
				}
				call.notifyElicitationComplete(stringOf(call.InputRequests[0].Params["elicitationId"]))
				return textOutcome("Ledger of 1931, page 4: lamp oil, string, one ladder.")
			},
		},
		{
			Name: "renew_card", Title: "Renew a card",
			Description: "Renews the card of the reader, " +
				"who identifies on a page of the library before the first renewal.",
			InputSchema: noArguments(), Annotations: changesState, In: urlRequiredErrorRevisions, Run: renewCard,
		},
	}
}

// renewCard refuses the first call until the user identified on a page, which a
// second call implies.
func renewCard(_ context.Context, call *Call) Outcome {
	page := urlElicitation("identity", "card/identity", "Please tell on this page who you are.")
	if !page.isSupportedBy(call.Client) {
		return errorOutcome("This needs a client that can send its user to a page.")
	}
	pending, first := call.Session.beginIdentification(stringOf(page.Params["elicitationId"]))
	if first {
		return Outcome{Problem: &Error{
			spec.LegacyURLElicitationError, "The reader must identify first",
			Object{"elicitations": []any{page.Params}},
		}}
	}
	if pending != "" {
		call.notifyElicitationComplete(pending)
	}
	return textOutcome("The card is good for another year.")
}

// urlElicitation returns an elicitation in URL mode. The URL holds nothing about
// the user and grants no access by itself (client/elicitation#safe-url-handling).
func urlElicitation(key, path, message string) InputRequest {
	id := rand.Text()
	return InputRequest{Key: key, Method: "elicitation/create", Params: Object{
		"mode": "url", "elicitationId": id, "message": message,
		"url": fmt.Sprintf("https://library.example/%s?visit=%s", path, id),
	}}
}

// notifyElicitationComplete notifies the client that an elicitation is complete, in
// the revisions that have a message for it
// (client/elicitation#completion-notifications-for-url-mode-elicitation).
func (r *Request) notifyElicitationComplete(id string) {
	if !urlRequiredErrorRevisions.Has(r.Revision) {
		return
	}
	f := notificationFrame("notifications/elicitation/complete", Object{"elicitationId": id})
	f.Request = r
	r.Send(f)
}

// beginIdentification records that the user must identify by the elicitation of an
// id, if no call required it before. Otherwise it returns the id of the elicitation
// that is pending, once.
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
