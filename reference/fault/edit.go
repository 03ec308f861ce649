package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// An apply builds a deviation into the options of the server.
type apply = func(o *server.Options)

// combine builds several deviations in as one fault.
func combine(parts ...apply) apply {
	return func(o *server.Options) {
		for _, p := range parts {
			p(o)
		}
	}
}

// whenMember changes the objects whose member has the value.
func whenMember(name string, value any, edit func(o server.Object)) func(o server.Object) {
	return func(o server.Object) {
		if o[name] == value {
			edit(o)
		}
	}
}

// outside returns a decorator that decorates outside another one, which may be nil.
func outside[T any](inner, decorate func(next T) T) func(next T) T {
	if inner == nil {
		return decorate
	}
	return func(next T) T { return decorate(inner(next)) }
}

// onHandler decorates the handler of requests, outside its decorators.
func onHandler(decorate func(next server.Handler) server.Handler) apply {
	return func(o *server.Options) { o.Handler = outside(o.Handler, decorate) }
}

// onLibrary changes what the server offers, before it starts.
func onLibrary(edit func(l *server.Features)) apply {
	return func(o *server.Options) {
		inner := o.ChangeFeatures
		o.ChangeFeatures = func(l *server.Features) {
			if inner != nil {
				inner(l)
			}
			edit(l)
		}
	}
}

// A requestMatcher reports whether a deviation applies to a request.
type requestMatcher = func(r *server.Request) bool

// isMethod matches requests of the method; "" means any method.
func isMethod(method string) requestMatcher {
	return func(r *server.Request) bool { return method == "" || r.Method == method }
}

// hasParam matches requests of the method one of whose params has the value.
func hasParam(method, param string, value any) requestMatcher {
	return func(r *server.Request) bool { return r.Method == method && r.Params[param] == value }
}

// lacksParam matches requests of the method without one of the params.
func lacksParam(method, param string) requestMatcher { return hasParam(method, param, nil) }

// isCall matches calls of the tool.
func isCall(tool string) requestMatcher { return hasParam("tools/call", "name", tool) }

// isPromptGet matches requests for the prompt.
func isPromptGet(prompt string) requestMatcher { return hasParam("prompts/get", "name", prompt) }

// isRead matches reads of the resource.
func isRead(uri string) requestMatcher { return hasParam("resources/read", "uri", uri) }

// onRequest changes requests of the method before they are served; "" means any
// method.
func onRequest(method string, edit func(r *server.Request)) apply {
	return onRequestWhen(isMethod(method), edit)
}

// onRequestWhen changes the requests that match before they are served.
func onRequestWhen(matches requestMatcher, edit func(r *server.Request)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if matches(r) {
				edit(r)
			}
			return next(ctx, r)
		}
	})
}

// An answer answers a request in place of the server.
type answer = func(r *server.Request) (any, *server.Error)

// failWith answers with an error.
func failWith(code int, message string) answer {
	return func(*server.Request) (any, *server.Error) { return nil, &server.Error{Code: code, Message: message} }
}

// unknownMethod answers as to a method that the server does not have.
func unknownMethod(r *server.Request) (any, *server.Error) {
	return failWith(spec.MethodNotFound, "Method not found: "+r.Method)(r)
}

// succeedWith answers with a result that has the members, and those that every
// result of the stateless era has.
func succeedWith(members server.Object) answer {
	return func(*server.Request) (any, *server.Error) { return complete(members), nil }
}

// succeedWithOnly answers with a result that has the members alone.
func succeedWithOnly(members server.Object) answer {
	return func(*server.Request) (any, *server.Error) { return maps.Clone(members), nil }
}

// complete returns a result with the members, and with those that every result
// of the stateless era has and that no other era forbids.
func complete(members server.Object) server.Object {
	o := server.Object{
		"resultType": "complete",
		"_meta": server.Object{spec.MetaServerInfo: server.Object{
			"name": "harbour-street-library", "version": "1.0.0",
		}},
	}
	maps.Copy(o, members)
	return o
}

// failedTool is the result of a tool that reports its failure.
func failedTool(why string) server.Object {
	return complete(server.Object{"isError": true, "content": []any{server.Object{"type": "text", "text": why}}})
}

// reportFailure answers with the result of a tool that reports its failure.
func reportFailure(why string) answer {
	return func(*server.Request) (any, *server.Error) { return failedTool(why), nil }
}

// answerInstead answers requests of the method in place of the server.
func answerInstead(method string, with answer) apply { return answerWhen(isMethod(method), with) }

// answerWhen answers the requests that match in place of the server.
func answerWhen(matches requestMatcher, with answer) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if matches(r) {
				return with(r)
			}
			return next(ctx, r)
		}
	})
}

// waitForEnd leaves a request unanswered until its connection ends.
func waitForEnd(ctx context.Context, r *server.Request) (any, *server.Error) {
	r.Yield()
	<-ctx.Done()
	return nil, &server.Error{Code: spec.InternalError, Message: "Stopped"}
}

// onResult changes the results of requests of the method; "" means any method.
func onResult(method string, edit func(result server.Object)) apply {
	return onResultWhen(isMethod(method), func(_ *server.Request, result server.Object) { edit(result) })
}

// onResultWhen changes the results of the requests that match.
func onResultWhen(matches requestMatcher, edit func(r *server.Request, result server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && problem == nil && matches(r) {
				edit(r, o)
			}
			return v, problem
		}
	})
}

// onEntries changes the objects in an array that is a member of the results of
// the method.
func onEntries(method, member string, edit func(entry server.Object)) apply {
	return onResult(method, func(result server.Object) {
		list, _ := result[member].([]any)
		for _, entry := range list {
			if o, ok := entry.(server.Object); ok {
				edit(o)
			}
		}
	})
}

// onEntry changes those of the entries one of whose members has the value.
func onEntry(method, member, key string, value any, edit func(entry server.Object)) apply {
	return onEntries(method, member, func(entry server.Object) {
		if entry[key] == value {
			edit(entry)
		}
	})
}

// arrayToObject turns an array that is a member of the results of the method
// into an object, by the member that names each entry.
func arrayToObject(method, member, key string) apply {
	return onResult(method, func(result server.Object) {
		byKey := server.Object{}
		for _, entry := range result[member].([]any) {
			byKey[entry.(server.Object)[key].(string)] = entry
		}
		result[member] = byKey
	})
}

// set gives a member the value.
func set(member string, value any) func(server.Object) {
	return func(o server.Object) { o[member] = value }
}

// remove removes members.
func remove(members ...string) func(server.Object) {
	return func(o server.Object) {
		for _, m := range members {
			delete(o, m)
		}
	}
}

// rename gives a member another name.
func rename(from, to string) func(server.Object) {
	return func(o server.Object) {
		o[to] = o[from]
		delete(o, from)
	}
}

// replace gives a member that has one value another.
func replace(member string, from, to any) func(server.Object) {
	return func(o server.Object) {
		if o[member] == from {
			o[member] = to
		}
	}
}

// An errorMatcher reports whether a deviation applies to the error that answers
// a request.
type errorMatcher = func(r *server.Request, e *server.Error) bool

// hasCode matches errors with the code.
func hasCode(code int) errorMatcher {
	return func(_ *server.Request, e *server.Error) bool { return e.Code == code }
}

// hasMessage matches errors whose message begins with the text.
func hasMessage(prefix string) errorMatcher {
	return func(_ *server.Request, e *server.Error) bool { return strings.HasPrefix(e.Message, prefix) }
}

// anyError matches all errors.
func anyError(*server.Request, *server.Error) bool { return true }

// onError changes the errors that match and answer requests of the method; ""
// means any method.
func onError(method string, matches errorMatcher, edit func(e *server.Error)) apply {
	return answerErrors(method, matches, func(_ *server.Request, e *server.Error) (any, *server.Error) {
		edit(e)
		return nil, e
	})
}

// recode gives the errors that match another code.
func recode(method string, matches errorMatcher, code int) apply {
	return onError(method, matches, func(e *server.Error) { e.Code = code })
}

// errorToResult answers with a result where the server answers with an error that
// matches.
func errorToResult(method string, matches errorMatcher, with answer) apply {
	return answerErrors(method, matches, func(r *server.Request, _ *server.Error) (any, *server.Error) {
		return with(r)
	})
}

// An errorAnswer answers a request in place of the error that the server answers with.
type errorAnswer = func(r *server.Request, e *server.Error) (any, *server.Error)

// answerErrors answers requests of the method in place of the server where that
// answers with an error that matches.
func answerErrors(method string, matches errorMatcher, with errorAnswer) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if problem != nil && (method == "" || r.Method == method) && matches(r, problem) {
				own := *problem
				return with(r, &own)
			}
			return v, problem
		}
	})
}

// beforeAnswer does something right before a request of the method is answered.
func beforeAnswer(method string, do func(r *server.Request)) apply {
	return beforeAnswerWhen(isMethod(method), do)
}

// beforeAnswerWhen does something right before a request that matches is answered.
func beforeAnswerWhen(matches requestMatcher, do func(r *server.Request)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if matches(r) {
				do(r)
			}
			return v, problem
		}
	})
}

// withMethod returns the request as one of another method.
func withMethod(r *server.Request, method string) *server.Request {
	other := *r
	other.Method = method
	return &other
}

// metaOf returns the _meta of a request, nil if it has none.
func metaOf(r *server.Request) server.Object {
	o, _ := r.Params["_meta"].(server.Object)
	return o
}

// asText returns a string, "" for what is none.
func asText(v any) string {
	s, _ := v.(string)
	return s
}

// decode reads what the server wrote. Numbers stay as they are written.
func decode(raw []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		panic(fmt.Sprintf("fault: the server wrote %q: %v", raw, err))
	}
}
