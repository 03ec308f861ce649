package transcript

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A TokenUse is a request that gave a progress token, and how it went on.
type TokenUse struct {
	Request  wire.Message
	At       int    // frame of the request
	Answered int    // frame of its answer, or 0
	Task     string // id of the task that it created, if it did
	AsTask   bool   // it asked to be run as a task
	Void     bool   // it was cancelled, or shares its id with another: how long it runs is not known
}

// A ProgressReport is one progress notification and the request that it is about: the
// last before it that gave the token, nil for none.
type ProgressReport struct {
	wire.Entry
	Token, Value gjson.Result
	About        *TokenUse
	Shared       bool // another open request had given the same token: which is meant is not known
	Cancelled    bool // the request was cancelled before
}

// tokensGiven is what a session says of progress.
type tokensGiven struct {
	uses    map[string][]*TokenUse // by key of the token
	Reports []ProgressReport

	Misplaced map[string]bool // keys of tokens that requests hold beside _meta
	unclear   int             // first frame that is no readable message and may give a token, or -1
}

// Murky tells whether a token may have been given in what cannot be read.
func (p *tokensGiven) Murky(r ProgressReport) bool { return p.unclear >= 0 && p.unclear < r.Index }

// ProgressOf reads a session once for all judges of progress. Of reports whose
// token is no token the shape is judged, and nothing else.
func ProgressOf(j *check.J) *tokensGiven {
	return check.Derived(j, "progress", func() *tokensGiven {
		p := &tokensGiven{uses: map[string][]*TokenUse{}, Misplaced: map[string]bool{}, unclear: -1}
		open := map[string]*TokenUse{} // by key of the request's id
		told := map[int]bool{}         // reports under the revision, by frame
		for _, s := range Messages(j) {
			told[s.Index] = true
		}
		for _, e := range j.Entries() {
			if e.Truncated {
				continue
			}
			if e.From != j.Of && p.unclear < 0 && !e.Message.IsIdentifiable() && MentionsWord(e, "progresstoken") {
				p.unclear = e.Index
			}
			for _, m := range e.Message.Elements() {
				switch {
				case e.From != j.Of:
					p.sent(e.Index, m, open)
				case m.IsResponse():
					one := e
					one.Message = m
					p.answered(j, one, open[m.ID().Key()])
				case m.Kind == wire.Notification && m.Method() == "notifications/progress" && told[e.Index]:
					p.reported(e, m)
				}
			}
		}
		return p
	})
}

func (p *tokensGiven) sent(at int, m wire.Message, open map[string]*TokenUse) {
	if m.Method() == "notifications/cancelled" {
		if use := open[wire.ID{Raw: m.Params().Get("requestId").Raw}.Key()]; use != nil {
			use.Void = true
		}
	}
	if m.Kind != wire.Request {
		return
	}
	id := m.ID().Key()
	if before := open[id]; before != nil && before.Answered == 0 {
		before.Void = true
	}
	delete(open, id)
	for _, place := range []string{"progressToken", "arguments.progressToken", "metadata.progressToken"} {
		if token := m.Params().Get(place); token.Exists() {
			p.Misplaced[TokenKey(token)] = true
		}
	}
	token := m.Params().Get("_meta.progressToken")
	if !token.Exists() {
		return
	}
	use := &TokenUse{Request: m, At: at, AsTask: m.Params().Get("task").Exists()}
	open[id] = use
	key := TokenKey(token)
	p.uses[key] = append(p.uses[key], use)
}

// answered notes the answer to a request, unless it may be that of another.
func (p *tokensGiven) answered(j *check.J, e wire.Entry, use *TokenUse) {
	if use == nil {
		return
	}
	if request, ok := j.RequestOf(e); !ok || request.Index != use.At {
		use.Void = true
	} else if use.Answered == 0 {
		use.Answered = e.Index
		use.Task = e.Message.Result().Get("task.taskId").String()
	}
}

func (p *tokensGiven) reported(e wire.Entry, m wire.Message) {
	r := ProgressReport{Entry: e, Token: m.Params().Get("progressToken"), Value: m.Params().Get("progress")}
	r.Message = m
	if !(wire.ID{Raw: r.Token.Raw}).IsValid() {
		return
	}
	uses := p.uses[TokenKey(r.Token)]
	for _, use := range uses {
		r.Shared = r.Shared || r.About != nil && (r.About.Answered == 0 || r.About.AsTask)
		r.About, r.Cancelled = use, use.Void
	}
	p.Reports = append(p.Reports, r)
}

// MentionsWord tells whether a frame holds a word, given in lower case.
func MentionsWord(e wire.Entry, word string) bool {
	return bytes.Contains(bytes.ToLower(e.Raw), []byte(word))
}

// TokenKey is a canonical form of a token, which keeps its type: tokens are as
// ids are.
func TokenKey(token gjson.Result) string { return wire.ID{Raw: token.Raw}.Key() }

// looseKey is the same without the type.
func looseKey(token gjson.Result) string {
	_, text, _ := strings.Cut(TokenKey(token), ":")
	return strings.TrimSpace(text)
}

// Lookalike tells whether a report may be meant for another token that differs in
// type alone: where that was given, and nothing was ever reported under it.
func (p *tokensGiven) Lookalike(r ProgressReport) bool {
	for key, uses := range p.uses {
		alike := key != TokenKey(r.Token) && looseKey(uses[0].Request.Params().Get("_meta.progressToken")) == looseKey(r.Token)
		if alike && !slices.ContainsFunc(p.Reports, func(other ProgressReport) bool {
			return TokenKey(other.Token) == key
		}) {
			return true
		}
	}
	return false
}

// Retyped returns the token that a report gives back in another type.
func (p *tokensGiven) Retyped(r ProgressReport) (given gjson.Result, ok bool) {
	for _, uses := range p.uses {
		token := uses[0].Request.Params().Get("_meta.progressToken")
		if uses[0].At < r.Index && looseKey(token) == looseKey(r.Token) && looseKey(token) != "" {
			return token, true
		}
	}
	return gjson.Result{}, false
}
