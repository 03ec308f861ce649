package server

import (
	"context"
	"net/url"
	"slices"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/memo"
	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Resource is one resource (server/resources).
type Resource struct {
	URI, Name, Title, Description, MIME string
	Size                                int                  // in bytes; 0: not listed
	Annotations, Meta                   Object               // annotations and _meta, or nil
	Unlisted                            bool                 // readable, but not listed
	In                                  spec.Set             // revisions that know what it needs; zero: all
	Offered                             func(*Features) bool // whether the library offers it at present; nil: always
	// InputRequests returns the input that reading needs from the client.
	InputRequests func() []InputRequest
	Read          func(r *ResourceRead) []Object
}

// A Template describes resources by a URI template (RFC 6570).
type Template struct {
	URI, Name, Title, Description, MIME string
	// Read returns no contents if there is no such resource.
	Read func(r *ResourceRead) []Object
}

// parse returns the parsed URI of the template. It caches the results by the URI:
// every instance of the server has the same templates.
func (t *Template) parse() (*uritemplate.Template, error) {
	return parsedTemplates.Get(t.URI, func() (*uritemplate.Template, error) { return uritemplate.New(t.URI) })
}

var parsedTemplates = memo.Cache[*uritemplate.Template]{MaxResults: 512}

// A ResourceRead is one read of a resource.
type ResourceRead struct {
	*Request
	URI      string
	Vars     map[string]string // of the template
	Answers  map[string]Object // of the client, by key of the InputRequest
	Features *Features
}

// maxURI bounds the length of the URIs of requests.
const maxURI = 2000

// describe returns the members that all features have, without the MIME type if
// there is none.
func describe(title, description, mime string) Object {
	o := Object{"title": title, "description": description}
	if mime != "" {
		o["mimeType"] = mime
	}
	return o
}

// listResources answers resources/list (server/resources#listing-resources).
func listResources(_ context.Context, r *Request) (any, *Error) {
	all := r.conn.features.Resources
	if card := r.libraryCard(); card != nil {
		all = append(slices.Clone(all), card)
	}
	return paginate(r, "resources", all,
		func(res *Resource) bool { return !res.Unlisted && res.isOffered(r) },
		func(res *Resource) Object { return res.listEntry(r) })
}

// listEntry returns the resource as an entry of resources/list.
func (res *Resource) listEntry(r *Request) Object {
	o := describe(res.Title, res.Description, res.MIME)
	o["uri"], o["name"], o["icons"] = res.URI, res.Name, icons()
	if res.Size > 0 {
		o["size"] = res.Size
	}
	if res.Annotations != nil {
		o["annotations"] = res.Annotations
	}
	if res.Meta != nil {
		o["_meta"] = res.Meta
	}
	return reduceTo(r.Revision, "Resource", o)
}

func (res *Resource) isOffered(r *Request) bool { return isOffered(r, res.In, res.Offered) }

// listTemplates answers resources/templates/list (server/resources#resource-templates).
func listTemplates(_ context.Context, r *Request) (any, *Error) {
	return paginate(r, "resourceTemplates", r.conn.features.Templates,
		func(*Template) bool { return true },
		func(t *Template) Object {
			o := describe(t.Title, t.Description, t.MIME)
			o["uriTemplate"], o["name"], o["icons"] = t.URI, t.Name, icons()
			return reduceTo(r.Revision, "ResourceTemplate", o)
		})
}

// readResource answers resources/read (server/resources#reading-resources).
func readResource(ctx context.Context, r *Request) (any, *Error) {
	uri, problem := resourceURI(r)
	if problem != nil {
		return nil, problem
	}
	if _, problem := r.presentedState(); problem != nil {
		return nil, problem
	}
	reading := &ResourceRead{Request: r, URI: uri, Features: r.conn.features}
	res := r.findResource(uri)
	if res == nil {
		return readResult(r, reading.readByTemplate())
	}
	if res.InputRequests != nil {
		in, problem := r.obtainInputOrFail(ctx, res.InputRequests())
		if problem != nil || in.interim != nil {
			return in.interim, problem
		}
		reading.Answers = in.answers
	}
	return readResult(r, res.Read(reading))
}

// readResult makes the result of a read. Without contents there is no such
// resource, for which each revision has its code (server/resources#error-handling).
func readResult(r *Request, contents []Object) (any, *Error) {
	if len(contents) == 0 {
		return nil, &Error{
			r.Revision.Facts().ResourceNotFound, "Resource not found", Object{"uri": r.Params["uri"]},
		}
	}
	list := []any{}
	for _, o := range contents {
		list = append(list, membersAt(r.Revision, "ResourceContents", o))
	}
	return Object{"contents": list}, nil
}

// resourceURI returns the parameter uri if it is a valid one
// (server/resources#security-considerations).
func resourceURI(r *Request) (string, *Error) {
	uri, ok := r.Params["uri"].(string)
	if !ok {
		return "", invalidParams("The parameter uri must be a string")
	}
	if u, err := url.Parse(uri); err != nil || !u.IsAbs() || len(uri) > maxURI {
		return "", invalidParams("The parameter uri is no usable URI")
	}
	return uri, nil
}

// findResource returns the offered resource of a URI, or nil.
func (r *Request) findResource(uri string) *Resource {
	for _, res := range r.conn.features.Resources {
		if res.URI == uri && res.isOffered(r) {
			return res
		}
	}
	if card := r.libraryCard(); card != nil && card.URI == uri {
		return card
	}
	return nil
}

// readByTemplate reads by the first template that the URI is an expansion of.
func (r *ResourceRead) readByTemplate() []Object {
	for _, t := range r.Features.Templates {
		parsed, err := t.parse()
		if err != nil {
			continue
		}
		values := parsed.Match(r.URI)
		if values == nil {
			continue
		}
		r.Vars = map[string]string{}
		for name, v := range values {
			r.Vars[name] = v.String()
		}
		if contents := t.Read(r); len(contents) > 0 {
			return contents
		}
	}
	return nil
}

// subscribe answers resources/subscribe (server/resources#subscriptions).
func subscribe(_ context.Context, r *Request) (any, *Error) { return r.setSubscription(true) }

// unsubscribe answers resources/unsubscribe.
func unsubscribe(_ context.Context, r *Request) (any, *Error) { return r.setSubscription(false) }

func (r *Request) setSubscription(on bool) (any, *Error) {
	uri, problem := resourceURI(r)
	if problem != nil {
		return nil, problem
	}
	reading := &ResourceRead{Request: r, URI: uri, Features: r.conn.features}
	if on && r.findResource(uri) == nil && len(reading.readByTemplate()) == 0 {
		return readResult(r, nil)
	}
	if !r.Session.setSubscribed(uri, on) {
		return nil, newError(spec.InternalError, "Too many subscriptions")
	}
	return Object{}, nil
}
