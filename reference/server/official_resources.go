package server

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

const watchedURI = "test://watched-resource"

// resources returns the resources of the contract.
func (o *officialFeatures) resources() []*Resource {
	return []*Resource{
		{
			URI: "test://static-text", Name: "static-text", Title: "Static text",
			Description: "One sentence", MIME: "text/plain",
			Read: textResource("This is the content of the static text resource."),
		},
		{
			URI: "test://static-binary", Name: "static-binary", Title: "Static picture",
			Description: "One picture", MIME: "image/png",
			Read: func(r *ResourceRead) []Object { return []Object{blobContents(r.URI, "image/png", coverPNG(1))} },
		},
		{
			URI: watchedURI, Name: "watched-resource", Title: "Watched resource",
			Description: "Changes all by itself", MIME: "text/plain",
			Read: func(r *ResourceRead) []Object {
				text := fmt.Sprintf("This resource has changed %d times.", o.watchedChanges.Load())
				return []Object{textContents(r.URI, "text/plain", text)}
			},
		},
	}
}

// changeWatchedResource changes the watched resource at regular intervals until the
// connection ends, and notifies its subscribers.
func (c *conn) changeWatchedResource(o *officialFeatures) {
	tick := time.NewTicker(o.stepDelay * stepsPerWatchedChange)
	defer tick.Stop()
	for {
		select {
		case <-c.closing:
			return
		case <-c.ctx.Done():
			return
		case <-tick.C:
			o.watchedChanges.Add(1)
			c.notifyUpdated(watchedURI)
		}
	}
}

// officialTemplate returns the URI template of the contract.
func officialTemplate() *Template {
	return &Template{
		"test://template/{id}/data", "template", "Template", "Data by its id", jsonType,
		func(r *ResourceRead) []Object {
			id := r.Vars["id"]
			if id == "" {
				return nil
			}
			text := fmt.Sprintf(`{"id":%s,"templateTest":true,"data":%s}`,
				wire.Encode(id), wire.Encode("Data for ID: "+id))
			return []Object{textContents(r.URI, jsonType, text)}
		},
	}
}

// officialCompletionValues returns the values of an argument of the contract, by
// its name; nil for other arguments.
func officialCompletionValues(name string) []string {
	switch name {
	case "arg1", "arg2":
		return []string{"paris", "park", "party", "testValue1", "testValue2"}
	case "id":
		return []string{"1", "12", "123"}
	case "resourceUri":
		return []string{"test://static-binary", "test://static-text", watchedURI}
	}
	return nil
}
