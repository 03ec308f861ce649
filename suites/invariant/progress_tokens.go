package invariant

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A tokenUse is a request that gave a progress token, and how it went on.
type tokenUse struct {
	request  wire.Message
	at       int    // frame of the request
	answered int    // frame of its answer, or 0
	task     string // id of the task that it created, if it did
	asTask   bool   // it asked to be run as a task
	void     bool   // it was cancelled, or shares its id with another: how long it runs is not known
}

// A report is one progress notification and the request that it is about: the
// last before it that gave the token, nil for none.
type report struct {
	wire.Entry
	token, value gjson.Result
	about        *tokenUse
	shared       bool // another open request had given the same token: which is meant is not known
	cancelled    bool // the request was cancelled before
}

// tokensGiven is what a session says of progress.
type tokensGiven struct {
	uses    map[string][]*tokenUse // by key of the token
	reports []report

	misplaced map[string]bool // keys of tokens that requests hold beside _meta
	unclear   int             // first frame that is no readable message and may give a token, or -1
}

// murky tells whether a token may have been given in what cannot be read.
func (p *tokensGiven) murky(r report) bool { return p.unclear >= 0 && p.unclear < r.Index }

// progressOf reads a session once for all judges of progress. Of reports whose
// token is no token the shape is judged, and nothing else.
func progressOf(j *check.J) *tokensGiven {
	return check.Derived(j, "progress", func() *tokensGiven {
		p := &tokensGiven{uses: map[string][]*tokenUse{}, misplaced: map[string]bool{}, unclear: -1}
		open := map[string]*tokenUse{} // by key of the request's id
		told := map[int]bool{}         // reports under the revision, by frame
		eachSaid(j, func(s said) { told[s.Index] = true })
		for _, e := range j.Entries() {
			if e.Cut {
				continue
			}
			if e.From != j.Of && p.unclear < 0 && !e.Message.Readable() && mentions(e, "progresstoken") {
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

func (p *tokensGiven) sent(at int, m wire.Message, open map[string]*tokenUse) {
	if m.Method() == "notifications/cancelled" {
		if use := open[wire.ID{Raw: m.Params().Get("requestId").Raw}.Key()]; use != nil {
			use.void = true
		}
	}
	if m.Kind != wire.Request {
		return
	}
	id := m.ID().Key()
	if before := open[id]; before != nil && before.answered == 0 {
		before.void = true
	}
	delete(open, id)
	for _, place := range []string{"progressToken", "arguments.progressToken", "metadata.progressToken"} {
		if token := m.Params().Get(place); token.Exists() {
			p.misplaced[tokenKey(token)] = true
		}
	}
	token := m.Params().Get("_meta.progressToken")
	if !token.Exists() {
		return
	}
	use := &tokenUse{request: m, at: at, asTask: m.Params().Get("task").Exists()}
	open[id] = use
	key := tokenKey(token)
	p.uses[key] = append(p.uses[key], use)
}

// answered notes the answer to a request, unless it may be that of another.
func (p *tokensGiven) answered(j *check.J, e wire.Entry, use *tokenUse) {
	if use == nil {
		return
	}
	if request, ok := j.RequestOf(e); !ok || request.Index != use.at {
		use.void = true
	} else if use.answered == 0 {
		use.answered = e.Index
		use.task = e.Message.Result().Get("task.taskId").String()
	}
}

func (p *tokensGiven) reported(e wire.Entry, m wire.Message) {
	r := report{Entry: e, token: m.Params().Get("progressToken"), value: m.Params().Get("progress")}
	r.Message = m
	if !(wire.ID{Raw: r.token.Raw}).Usable() {
		return
	}
	uses := p.uses[tokenKey(r.token)]
	for _, use := range uses {
		r.shared = r.shared || r.about != nil && (r.about.answered == 0 || r.about.asTask)
		r.about, r.cancelled = use, use.void
	}
	p.reports = append(p.reports, r)
}

// mentions tells whether a frame holds a word, given in lower case.
func mentions(e wire.Entry, word string) bool {
	return bytes.Contains(bytes.ToLower(e.Raw), []byte(word))
}

// tokenKey is a canonical form of a token, which keeps its type: tokens are as
// ids are.
func tokenKey(token gjson.Result) string { return wire.ID{Raw: token.Raw}.Key() }

// looseKey is the same without the type.
func looseKey(token gjson.Result) string {
	_, text, _ := strings.Cut(tokenKey(token), ":")
	return strings.TrimSpace(text)
}

// lookalike tells whether a report may be meant for another token that differs in
// type alone: where that was given, and nothing was ever reported under it.
func (p *tokensGiven) lookalike(r report) bool {
	for key, uses := range p.uses {
		alike := key != tokenKey(r.token) && looseKey(uses[0].request.Params().Get("_meta.progressToken")) == looseKey(r.token)
		if alike && !slices.ContainsFunc(p.reports, func(other report) bool { return tokenKey(other.token) == key }) {
			return true
		}
	}
	return false
}

// retyped returns the token that a report gives back in another type.
func (p *tokensGiven) retyped(r report) (given gjson.Result, ok bool) {
	for _, uses := range p.uses {
		token := uses[0].request.Params().Get("_meta.progressToken")
		if uses[0].at < r.Index && looseKey(token) == looseKey(r.token) && looseKey(token) != "" {
			return token, true
		}
	}
	return gjson.Result{}, false
}
