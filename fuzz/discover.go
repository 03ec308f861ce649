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

// An offering is what a target offers at a revision.
type offering struct {
	spoken   bool
	why      string // why the revision is not spoken
	name     string // of the server
	version  string
	frames   []namedFrame // valid requests for what it offers
	policy   toolPolicy
	withheld []string // tools that are not called
}

// A namedFrame is a frame made for a target.
type namedFrame struct{ name, raw string }

// maxPerKind bounds the resources, templates and prompts that get frames of
// their own.
const maxPerKind = 4

// discover opens a session and lists what the target offers. It fails if no
// session could be opened.
func discover(ctx context.Context, x *executor, rev spec.Revision, allowed func(tool string) bool) (offering, error) {
	d := &discovery{ctx: ctx, rev: rev, allowed: allowed}
	d.offer.policy.tools = map[string]permission{}
	plain := newCorpus(rev, offering{})
	conn, err := x.open(ctx, script{rev: rev, opening: plain.opening})
	if err != nil {
		return d.offer, err
	}
	defer conn.end(false)
	d.conn = conn
	d.offer.name, d.offer.version = serverInfo(conn.opening)
	d.capabilities, d.offer.why = negotiated(rev, conn.opening)
	d.offer.spoken = d.offer.why == ""
	if !d.offer.spoken {
		return d.offer, nil
	}
	if session.Declares(d.capabilities, "tools") {
		d.addTools()
	}
	if session.Declares(d.capabilities, "resources") {
		d.addResources()
		d.addTemplates()
	}
	if session.Declares(d.capabilities, "prompts") {
		d.addPrompts()
	}
	return d.offer, nil
}

// A discovery lists what a target offers in one session.
type discovery struct {
	ctx          context.Context
	rev          spec.Revision
	conn         *connection
	allowed      func(tool string) bool
	capabilities gjson.Result
	requests     int
	offer        offering
}

// add adds a request to the frames of the offering.
func (d *discovery) add(method string, params session.Params) {
	if d.rev.Facts().Stateless {
		params["_meta"] = session.RequestMeta(d.rev, nil)
	}
	name := fmt.Sprintf("%s of the target#%d", method, len(d.offer.frames))
	frame := wire.EncodeCall(wire.IntID(1), method, params)
	d.offer.frames = append(d.offer.frames, namedFrame{name, string(frame)})
}

func (d *discovery) addTools() {
	for _, tool := range d.list("tools/list", "tools") {
		name := tool.Get("name").String()
		known := permission{anyArguments: d.allowed(name)}
		arguments, ok := exampleArguments(tool.Get("inputSchema"))
		if !ok && known.anyArguments { // the user allows invalid arguments
			arguments, ok = "{}", true
		}
		if ok && (known.anyArguments || tool.Get("annotations.readOnlyHint").Bool()) {
			call := session.Params{"name": name, "arguments": json.RawMessage(arguments)}
			if support := tool.Get("execution.taskSupport").String(); support == "optional" || support == "required" {
				d.add("tools/call", withTask(call))
			}
			d.add("tools/call", call)
			sent := parseTree(d.offer.frames[len(d.offer.frames)-1].raw).valueAt("/params/arguments")
			known.arguments = []string{string(sent.appendJSON(nil))}
		} else {
			d.offer.withheld = append(d.offer.withheld, name)
		}
		d.offer.policy.tools[name] = known
	}
}

func (d *discovery) addResources() {
	canSubscribe := session.Declares(d.capabilities, "resources.subscribe") && !d.rev.Facts().Stateless
	for _, resource := range firstItems(d.list("resources/list", "resources")) {
		uri := resource.Get("uri").String()
		d.add("resources/read", session.Params{"uri": uri})
		if canSubscribe {
			d.add("resources/subscribe", session.Params{"uri": uri})
			d.add("resources/unsubscribe", session.Params{"uri": uri})
		}
	}
}

// addTemplates adds a completion of the first variable of each URI template.
func (d *discovery) addTemplates() {
	for _, item := range firstItems(d.list("resources/templates/list", "resourceTemplates")) {
		template := item.Get("uriTemplate").String()
		_, rest, ok := strings.Cut(template, "{")
		if !ok {
			continue
		}
		variable, _, _ := strings.Cut(strings.TrimLeft(rest, "+#./;?&"), "}")
		variable, _, _ = strings.Cut(variable, ",")
		d.addCompletion(session.Params{"type": "ref/resource", "uri": template}, variable)
	}
}

func (d *discovery) addPrompts() {
	for _, prompt := range firstItems(d.list("prompts/list", "prompts")) {
		name := prompt.Get("name").String()
		arguments := session.Params{}
		for _, a := range prompt.Get("arguments").Array() {
			argument := a.Get("name").String()
			arguments[argument] = "a"
			d.addCompletion(session.Params{"type": "ref/prompt", "name": name}, argument)
		}
		d.add("prompts/get", session.Params{"name": name, "arguments": arguments})
	}
}

func (d *discovery) addCompletion(ref session.Params, argument string) {
	d.add("completion/complete", session.Params{"ref": ref, "argument": session.Params{"name": argument, "value": ""}})
}

// withTask returns the params of a call that requests a task
// (basic/utilities/tasks#creating-tasks of 2025-11-25).
func withTask(call session.Params) session.Params {
	call = maps.Clone(call)
	call["task"] = session.Params{"ttl": 60_000}
	return call
}

func firstItems(all []gjson.Result) []gjson.Result { return all[:min(len(all), maxPerKind)] }

// negotiated returns the capabilities in the answer to an opening, or why the
// revision is not spoken.
func negotiated(rev spec.Revision, frames []wire.Frame) (capabilities gjson.Result, why string) {
	for _, f := range frames {
		m := f.Message()
		if f.From != wire.Server || !m.IsResponse() {
			continue
		}
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
	return capabilities, "the opening was not answered"
}

func serverInfo(frames []wire.Frame) (name, version string) {
	for _, f := range frames {
		result := f.Message().Result()
		info := result.Get("serverInfo")
		if !info.Exists() {
			info = wire.Member(result.Get("_meta"), spec.MetaServerInfo)
		}
		if info.Exists() {
			return info.Get("name").String(), info.Get("version").String()
		}
	}
	return "", ""
}

// maxPages bounds the pages of a list.
const maxPages = 20

// list returns the items of all pages. A request that fails ends the list.
func (d *discovery) list(method, member string) []gjson.Result {
	var out []gjson.Result
	cursor := gjson.Result{}
	for range maxPages {
		d.requests++
		id := wire.StringID(fmt.Sprintf("look-%d", d.requests))
		params := session.Params{}
		if d.rev.Facts().Stateless {
			params["_meta"] = session.RequestMeta(d.rev, nil)
		}
		if cursor.Exists() {
			params["cursor"] = cursor.Value()
		}
		at, err := d.conn.Send(d.ctx, wire.EncodeCall(id, method, params))
		if err != nil {
			return out
		}
		e, err := d.conn.answerTo(d.ctx, at, id, d.conn.executor.options.Timeout, nil)
		if err != nil || e.Message.Kind != wire.Result {
			return out
		}
		out = append(out, e.Message.Result().Get(member).Array()...)
		if cursor = e.Message.Result().Get("nextCursor"); cursor.Type != gjson.String {
			return out
		}
	}
	return out
}

// exampleArguments returns arguments that are valid under an inputSchema, by the
// dialect that the schema names. ok is false if none were found.
func exampleArguments(inputSchema gjson.Result) (arguments string, ok bool) {
	made, err := schema.MakeArguments(rand.New(rand.NewPCG(1, 0)), []byte(inputSchema.Raw))
	if err != nil {
		return "", false
	}
	compiled, err := schema.CompileTool([]byte(inputSchema.Raw))
	if err != nil {
		return "", false
	}
	violations, err := compiled.Validate(made)
	return string(made), err == nil && len(violations) == 0
}
