package server

import (
	"context"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A subscription is an open subscriptions/listen request
// (basic/patterns/subscriptions).
type subscription struct {
	request *Request
	lists   map[string]bool // tools, prompts, resources
	uris    map[string]bool // of resources
	tasks   map[string]bool // of the tasks extension, by id
}

// listFilters are the members of the filter that subscribe to changes of a list.
var listFilters = map[string]string{
	"toolsListChanged": "tools", "promptsListChanged": "prompts", "resourcesListChanged": "resources",
}

// listen answers subscriptions/listen: it opens a stream of notifications, which
// lasts until the client cancels the request or the server ends.
func listen(ctx context.Context, r *Request) (any, *Error) {
	s, acknowledged, problem := r.newSubscription()
	if problem != nil {
		return nil, problem
	}
	// The acknowledgment is the first message of the subscription.
	s.notify("notifications/subscriptions/acknowledged", Object{"notifications": acknowledged})
	r.conn.addSubscription(s)
	defer r.conn.removeSubscription(s)
	r.Yield()
	select {
	case <-ctx.Done():
		return nil, newError(spec.InternalError, "The subscription was cancelled")
	case <-r.conn.closing:
	}
	// When the server ends a subscription, basic/patterns/cancellation asks for a
	// notification and basic/patterns/subscriptions for a result. The notification
	// is of stdio alone (schema.ts#CancelledNotification).
	if r.exchange == nil {
		s.notify("notifications/cancelled", Object{"requestId": rawID(r.ID), "reason": "the library closes"})
	}
	return Object{"_meta": Object{spec.MetaSubscriptionID: rawID(r.ID)}}, nil
}

// newSubscription returns the subscription that the filter of a request names, and
// the part of the filter that the server acknowledges.
func (r *Request) newSubscription() (s *subscription, acknowledged Object, problem *Error) {
	filter, ok := r.Params["notifications"].(Object)
	if !ok {
		return nil, nil, invalidParams("The parameter notifications must be an object")
	}
	s = &subscription{r, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	acknowledged = Object{}
	for member, list := range listFilters {
		v, ok := filter[member]
		on, isBool := v.(bool)
		switch {
		case ok && !isBool:
			return nil, nil, invalidParams("The parameter notifications.%s must be a boolean", member)
		case on && r.conn.features.declares(list+".listChanged"):
			s.lists[list], acknowledged[member] = true, true
		}
	}
	uris, problem := filterStrings(filter, "resourceSubscriptions")
	if problem != nil {
		return nil, nil, problem
	}
	if uris != nil && r.conn.features.declares("resources.subscribe") {
		acknowledged["resourceSubscriptions"] = uris
		for _, v := range uris {
			s.uris[stringOf(v)] = true
		}
	}
	tasks, problem := r.subscriptionTasks(filter)
	if problem != nil {
		return nil, nil, problem
	}
	if len(tasks) > 0 {
		acknowledged["taskIds"] = tasks
		for _, v := range tasks {
			s.tasks[stringOf(v)] = true
		}
	}
	return s, acknowledged, nil
}

// filterStrings returns a member of the filter that is an array of strings; nil if
// it is absent.
func filterStrings(filter Object, member string) ([]any, *Error) {
	v, ok := filter[member]
	if !ok {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok || slices.ContainsFunc(list, func(e any) bool { return !isString(e) }) {
		return nil, invalidParams("The parameter notifications.%s must be an array of strings", member)
	}
	return list, nil
}

// notify sends a notification of the subscription, tagged with its id.
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

// notifyListChanged notifies the session, and the subscriptions that name the list,
// that a list has changed.
func (c *conn) notifyListChanged(list string) {
	method := "notifications/" + list + "/list_changed"
	if !c.features.declares(list + ".listChanged") {
		return
	}
	if c.session.Ready() {
		c.send(notificationFrame(method, nil))
	}
	for _, s := range c.openSubscriptions() {
		if s.lists[list] {
			s.notify(method, nil)
		}
	}
}

// notifyUpdated notifies the subscribers of each resource that it has changed.
func (c *conn) notifyUpdated(uris ...string) {
	const method = "notifications/resources/updated"
	for _, uri := range uris {
		if c.session.Ready() && c.session.isSubscribed(uri) {
			c.send(notificationFrame(method, Object{"uri": uri}))
		}
		for _, s := range c.openSubscriptions() {
			if s.uris[uri] {
				s.notify(method, Object{"uri": uri})
			}
		}
	}
}
