package server

import (
	"context"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A subscription is an open subscriptions/listen request
// (basic/patterns/subscriptions).
type subscription struct {
	request *Request
	lists   map[string]bool // tools, prompts, resources
	uris    map[string]bool
	tasks   map[string]bool // of the tasks extension, by id
}

// filters are the members of the filter that switch on a list.
var listFilters = map[string]string{
	"toolsListChanged": "tools", "promptsListChanged": "prompts", "resourcesListChanged": "resources",
}

// listen opens a stream of notifications, which lasts until the client
// cancels the request or the server ends.
func listen(ctx context.Context, r *Request) (any, *Error) {
	filter, ok := r.Params["notifications"].(Object)
	if !ok {
		return nil, invalidParams("The parameter notifications must be an object")
	}
	s := &subscription{r, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	agreed := Object{}
	for member, list := range listFilters {
		v, ok := filter[member]
		on, isBool := v.(bool)
		switch {
		case ok && !isBool:
			return nil, invalidParams("The parameter notifications.%s must be a boolean", member)
		case on && r.conn.features.declares(list+".listChanged"):
			s.lists[list], agreed[member] = true, true
		}
	}
	uris, problem := subscriptionURIs(filter)
	if problem != nil {
		return nil, problem
	}
	if uris != nil && r.conn.features.declares("resources.subscribe") {
		agreed["resourceSubscriptions"] = uris
		for _, v := range uris {
			s.uris[stringOf(v)] = true
		}
	}
	tasks, problem := r.subscriptionTasks(filter)
	if problem != nil {
		return nil, problem
	}
	if len(tasks) > 0 {
		agreed["taskIds"] = tasks
		for _, v := range tasks {
			s.tasks[stringOf(v)] = true
		}
	}
	// The acknowledgment is the first message of the subscription.
	s.notify("notifications/subscriptions/acknowledged", Object{"notifications": agreed})
	r.conn.addSubscription(s)
	defer r.conn.removeSubscription(s)
	r.Park()
	select {
	case <-ctx.Done():
		return nil, newError(spec.InternalError, "The subscription was cancelled")
	case <-r.conn.closing:
	}
	// basic/patterns/cancellation asks for a notification when the server
	// tears a subscription down, basic/patterns/subscriptions for a result. The
	// notification is of stdio alone (schema.ts#CancelledNotification).
	if r.exchange == nil {
		s.notify("notifications/cancelled", Object{"requestId": rawID(r.ID), "reason": "the library closes"})
	}
	return Object{"_meta": Object{spec.MetaSubscriptionID: rawID(r.ID)}}, nil
}

// subscriptionURIs returns the resources that the filter names; nil if none.
func subscriptionURIs(filter Object) ([]any, *Error) {
	v, ok := filter["resourceSubscriptions"]
	if !ok {
		return nil, nil
	}
	return filterStrings("resourceSubscriptions", v)
}

// filterStrings is a member of the filter that is an array of strings.
func filterStrings(member string, v any) ([]any, *Error) {
	list, ok := v.([]any)
	if !ok || slices.ContainsFunc(list, func(e any) bool { return !isString(e) }) {
		return nil, invalidParams("The parameter notifications.%s must be an array of strings", member)
	}
	return list, nil
}

// notify sends a notification on the stream, tagged with its id.
func (s *subscription) notify(method string, params Object) {
	params = maps.Clone(params)
	if params == nil {
		params = Object{}
	}
	params["_meta"] = Object{spec.MetaSubscriptionID: rawID(s.request.ID)}
	s.request.Notify(method, params)
}

func (c *conn) addSubscription(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = append(c.subscriptions, s)
}

func (c *conn) removeSubscription(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = slices.DeleteFunc(c.subscriptions, func(other *subscription) bool { return other == s })
}

func (c *conn) openSubscriptions() []*subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.subscriptions)
}

// listChanged tells everyone who may be told that a list has changed: the
// session, and the streams that asked for it.
func (c *conn) notifyListChanged(list string) {
	method := "notifications/" + list + "/list_changed"
	if !c.features.declares(list + ".listChanged") {
		return
	}
	if c.session.Ready() {
		c.send(Frame{Raw: notificationMessage(method, nil), Kind: wire.Notification, Method: method})
	}
	for _, s := range c.openSubscriptions() {
		if s.lists[list] {
			s.notify(method, nil)
		}
	}
}

// updated tells everyone who watches one of the resources that it changed.
func (c *conn) notifyUpdated(uris ...string) {
	const method = "notifications/resources/updated"
	for _, uri := range uris {
		if c.session.Ready() && c.session.isSubscribed(uri) {
			c.send(Frame{Raw: notificationMessage(method, Object{"uri": uri}), Kind: wire.Notification, Method: method})
		}
		for _, s := range c.openSubscriptions() {
			if s.uris[uri] {
				s.notify(method, Object{"uri": uri})
			}
		}
	}
}
