package fuzz

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An Offer is what a target was found to have at a revision.
type offering struct {
	spoken  bool
	why     string // why the revision is not spoken
	name    string // of the server
	version string
	frames  []namedFrame // valid requests for what it offers
	policy toolPolicy
	withheld    []string // tools that are not called
}

// Made is a frame made for a target.
type namedFrame struct{ name, raw string }

// perKind is how many of the things of a kind that a target offers get frames
// of their own.
const maxPerKind = 4

// discover opens a session and lists what the target offers. The error tells
// that the target could not be spoken to at all.
func discover(ctx context.Context, p *executor, rev spec.Revision, allowed func(tool string) bool) (offering, error) {
	o := offering{policy: toolPolicy{tools: map[string]permission{}}}
	plain := newCorpus(rev, offering{})
	l, err := p.open(ctx, script{rev: rev, opening: plain.opening})
	if err != nil {
		return o, err
	}
	defer l.end(false)
	capabilities, why := negotiated(rev, l.opening)
	o.name, o.version = serverInfo(l.opening)
	if o.spoken = why == ""; !o.spoken {
		o.why = why
		return o, nil
	}
	look := &lister{ctx: ctx, conn: l}
	add := func(method string, params session.Params) {
		if rev.Facts().Stateless {
			params["_meta"] = session.Meta(rev, nil)
		}
		o.frames = append(o.frames, namedFrame{fmt.Sprintf("%s of the target#%d", method, len(o.frames)), string(session.Frame(wire.IntID(1), method, params))})
	}
	if session.Declares(capabilities, "tools") {
		for _, tool := range look.list("tools/list", "tools") {
			name := tool.Get("name").String()
			known := permission{anyArguments: allowed(name)}
			args, ok := exampleArguments(tool.Get("inputSchema"))
			if !ok && known.anyArguments { // what it does with these is its own business
				args, ok = "{}", true
			}
			if ok && (known.anyArguments || tool.Get("annotations.readOnlyHint").Bool()) {
				call := session.Params{"name": name, "arguments": json.RawMessage(args)}
				if support := tool.Get("execution.taskSupport").String(); support == "optional" || support == "required" {
					add("tools/call", withTask(call))
				}
				add("tools/call", call)
				made := parseTree(o.frames[len(o.frames)-1].raw).valueAt("/params/arguments")
				known.arguments = []string{string(made.appendJSON(nil))}
			} else {
				o.withheld = append(o.withheld, name)
			}
			o.policy.tools[name] = known
		}
	}
	if session.Declares(capabilities, "resources") {
		for _, r := range firstItems(look.list("resources/list", "resources")) {
			uri := r.Get("uri").String()
			add("resources/read", session.Params{"uri": uri})
			if session.Declares(capabilities, "resources.subscribe") && !rev.Facts().Stateless {
				add("resources/subscribe", session.Params{"uri": uri})
				add("resources/unsubscribe", session.Params{"uri": uri})
			}
		}
		for _, r := range firstItems(look.list("resources/templates/list", "resourceTemplates")) {
			template := r.Get("uriTemplate").String()
			if _, rest, ok := strings.Cut(template, "{"); ok {
				variable, _, _ := strings.Cut(strings.TrimLeft(rest, "+#./;?&"), "}")
				variable, _, _ = strings.Cut(variable, ",")
				add("completion/complete", session.Params{"ref": session.Params{"type": "ref/resource", "uri": template}, "argument": session.Params{"name": variable, "value": ""}})
			}
		}
	}
	if session.Declares(capabilities, "prompts") {
		for _, prompt := range firstItems(look.list("prompts/list", "prompts")) {
			args := session.Params{}
			for _, a := range prompt.Get("arguments").Array() {
				argument := a.Get("name").String()
				args[argument] = "a"
				add("completion/complete", session.Params{"ref": session.Params{"type": "ref/prompt", "name": prompt.Get("name").String()}, "argument": session.Params{"name": argument, "value": ""}})
			}
			add("prompts/get", session.Params{"name": prompt.Get("name").String(), "arguments": args})
		}
	}
	return o, nil
}

// withTask asks for a task (basic/utilities/tasks#creating-tasks of 2025-11-25).
func withTask(call session.Params) session.Params {
	call = maps.Clone(call)
	call["task"] = session.Params{"ttl": 60_000}
	return call
}

func firstItems(all []gjson.Result) []gjson.Result { return all[:min(len(all), maxPerKind)] }

// opened reads the answer to an opening: the capabilities, or why the revision
// is not spoken.
func negotiated(rev spec.Revision, frames []wire.Frame) (capabilities gjson.Result, why string) {
	for _, f := range frames {
		if m := f.Message(); f.From == wire.Server && m.IsResponse() {
			if m.Kind == wire.Error {
				return capabilities, "the opening was answered with " + m.Summary()
			}
			versions := append(m.Result().Get("supportedVersions").Array(), m.Result().Get("protocolVersion"))
			for _, v := range versions {
				if v.String() == string(rev) {
					return m.Result().Get("capabilities"), ""
				}
			}
			return capabilities, "the opening was answered with another revision"
		}
	}
	return capabilities, "the opening was not answered"
}

func serverInfo(frames []wire.Frame) (name, version string) {
	for _, f := range frames {
		r := f.Message().Result()
		info := r.Get("serverInfo")
		if !info.Exists() {
			info = wire.Member(r.Get("_meta"), spec.MetaServerInfo)
		}
		if info.Exists() {
			return info.Get("name").String(), info.Get("version").String()
		}
	}
	return "", ""
}

// A looker asks for lists.
type lister struct {
	ctx   context.Context
	conn     *connection
	requests int
}

// list returns the items of all pages, of at most 20; what fails ends it.
func (k *lister) list(method, key string) []gjson.Result {
	var out []gjson.Result
	cursor := gjson.Result{}
	for range 20 {
		k.requests++
		id := wire.StringID(fmt.Sprintf("look-%d", k.requests))
		params := session.Params{}
		if k.conn.rev.Facts().Stateless {
			params["_meta"] = session.Meta(k.conn.rev, nil)
		}
		if cursor.Exists() {
			params["cursor"] = cursor.Value()
		}
		at, err := k.conn.Send(k.ctx, session.Frame(id, method, params))
		if err != nil {
			return out
		}
		e, err := k.conn.answerTo(k.ctx, at, id, k.conn.executor.options.Timeout, nil)
		if err != nil || e.Message.Kind != wire.Result {
			return out
		}
		out = append(out, e.Message.Result().Get(key).Array()...)
		if cursor = e.Message.Result().Get("nextCursor"); cursor.Type != gjson.String {
			return out
		}
	}
	return out
}

// example makes arguments that fit an inputSchema by the dialect that it names.
// ok is false where none could be made; the tool is not called then, since
// invalid arguments are not sent unasked.
func exampleArguments(input gjson.Result) (args string, ok bool) {
	made, err := schema.Arguments(rand.New(rand.NewPCG(1, 0)), []byte(input.Raw))
	if err != nil {
		return "", false
	}
	own, err := schema.CompileTool([]byte(input.Raw))
	if err != nil {
		return "", false
	}
	broken, err := own.Validate(made)
	return string(made), err == nil && len(broken) == 0
}
