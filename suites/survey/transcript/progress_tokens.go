package transcript

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A TokenUse is a request that gave a progress token, with its outcome.
type TokenUse struct {
	Request   wire.Message
	At        int    // frame of the request
	Answered  int    // frame of its answer, or 0
	Task      string // id of the task that it created, if it did
	AsTask    bool   // it requested to run as a task
	IsUnclear bool   // it was cancelled or its id is a duplicate, so that its end is not known
}

// A ProgressReport is one progress notification with its request: the last one before
// it that gave the token, or nil.
type ProgressReport struct {
	wire.Entry
	Token, Value gjson.Result
	Use          *TokenUse
	IsAmbiguous  bool // another open request gave the same token
	IsCancelled  bool // the request was cancelled before
}

// ProgressTokens holds the progress tokens and notifications of a session.
type ProgressTokens struct {
	Uses    map[string][]*TokenUse // by key of the token
	Reports []ProgressReport

	Misplaced       map[string]bool // keys of tokens that requests hold outside of _meta
	firstUnreadable int             // first invalid frame that may give a token, or -1
}

// MayBeUnread reports whether a frame that cannot be read may have given the token.
func (p *ProgressTokens) MayBeUnread(r ProgressReport) bool {
	return p.firstUnreadable >= 0 && p.firstUnreadable < r.Index
}

// ProgressOf returns the progress tokens and notifications of a session. It leaves out
// notifications whose token is invalid; their shape is judged elsewhere.
func ProgressOf(j *check.J) *ProgressTokens {
	return check.Derived(j, "progress", func() *ProgressTokens {
		p := &ProgressTokens{Uses: map[string][]*TokenUse{}, Misplaced: map[string]bool{}, firstUnreadable: -1}
		open := map[string]*TokenUse{} // by key of the request's id
		described := map[int]bool{}    // messages of the revision, by frame
		for _, s := range Messages(j) {
			described[s.Index] = true
		}
		for _, e := range j.Entries() {
			if e.Truncated {
				continue
			}
			if e.From != j.Of && p.firstUnreadable < 0 && !e.Message.IsIdentifiable() &&
				MentionsWord(e, "progresstoken") {
				p.firstUnreadable = e.Index
			}
			for _, m := range e.Message.Elements() {
				switch {
				case e.From != j.Of:
					p.addSent(e.Index, m, open)
				case m.IsResponse():
					one := e
					one.Message = m
					p.addAnswer(j, one, open[m.ID().Key()])
				case m.Kind == wire.Notification && m.Method() == "notifications/progress" && described[e.Index]:
					p.addReport(e, m)
				}
			}
		}
		return p
	})
}

func (p *ProgressTokens) addSent(at int, m wire.Message, open map[string]*TokenUse) {
	if m.Method() == "notifications/cancelled" {
		if use := open[wire.ID{Raw: m.Params().Get("requestId").Raw}.Key()]; use != nil {
			use.IsUnclear = true
		}
	}
	if m.Kind != wire.Request {
		return
	}
	id := m.ID().Key()
	if before := open[id]; before != nil && before.Answered == 0 {
		before.IsUnclear = true
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
	p.Uses[key] = append(p.Uses[key], use)
}

// addAnswer records the answer to a request, unless it may be that of another one.
func (p *ProgressTokens) addAnswer(j *check.J, e wire.Entry, use *TokenUse) {
	if use == nil {
		return
	}
	if request, ok := j.RequestOf(e); !ok || request.Index != use.At {
		use.IsUnclear = true
	} else if use.Answered == 0 {
		use.Answered = e.Index
		use.Task = e.Message.Result().Get("task.taskId").String()
	}
}

func (p *ProgressTokens) addReport(e wire.Entry, m wire.Message) {
	r := ProgressReport{Entry: e, Token: m.Params().Get("progressToken"), Value: m.Params().Get("progress")}
	r.Message = m
	if !(wire.ID{Raw: r.Token.Raw}).IsValid() {
		return
	}
	uses := p.Uses[TokenKey(r.Token)]
	for _, use := range uses {
		r.IsAmbiguous = r.IsAmbiguous || r.Use != nil && (r.Use.Answered == 0 || r.Use.AsTask)
		r.Use, r.IsCancelled = use, use.IsUnclear
	}
	p.Reports = append(p.Reports, r)
}

// MentionsWord reports whether a frame contains a word, given in lower case.
func MentionsWord(e wire.Entry, word string) bool {
	return bytes.Contains(bytes.ToLower(e.Raw), []byte(word))
}

// TokenKey returns a canonical form of a token that keeps its type, as for ids.
func TokenKey(token gjson.Result) string { return wire.ID{Raw: token.Raw}.Key() }

// untypedKey is like TokenKey without the type.
func untypedKey(token gjson.Result) string {
	return strings.TrimSpace(wire.Untyped(TokenKey(token)))
}

// MayMeanOtherType reports whether a notification may be meant for another token that
// differs only in its type: that token was given, and nothing was reported under it.
func (p *ProgressTokens) MayMeanOtherType(r ProgressReport) bool {
	for key, uses := range p.Uses {
		given := uses[0].Request.Params().Get("_meta.progressToken")
		isAlike := key != TokenKey(r.Token) && untypedKey(given) == untypedKey(r.Token)
		if isAlike && !slices.ContainsFunc(p.Reports, func(other ProgressReport) bool {
			return TokenKey(other.Token) == key
		}) {
			return true
		}
	}
	return false
}

// FindRetyped returns the token that a notification repeats with another type.
func (p *ProgressTokens) FindRetyped(r ProgressReport) (given gjson.Result, ok bool) {
	for _, uses := range p.Uses {
		token := uses[0].Request.Params().Get("_meta.progressToken")
		if uses[0].At < r.Index && untypedKey(token) == untypedKey(r.Token) && untypedKey(token) != "" {
			return token, true
		}
	}
	return gjson.Result{}, false
}
