package server

import (
	"fmt"
	"time"
)

const watchedURI = "test://watched-resource"

// resources are the resources of the contract.
func (a *officialFeatures) resources() []*Resource {
	return []*Resource{
		{
			URI: "test://static-text", Name: "static-text", Title: "Static text", Description: "One sentence", MIME: "text/plain",
			Read: func(r *Reading) []Object {
				return []Object{textContents(r.URI, "text/plain", "This is the content of the static text resource.")}
			},
		},
		{
			URI: "test://static-binary", Name: "static-binary", Title: "Static picture", Description: "One picture", MIME: "image/png",
			Read: func(r *Reading) []Object { return []Object{blobContents(r.URI, "image/png", coverPNG(1))} },
		},
		{
			URI: watchedURI, Name: "watched-resource", Title: "Watched resource", Description: "Changes all by itself", MIME: "text/plain",
			Read: func(r *Reading) []Object {
				return []Object{textContents(r.URI, "text/plain", fmt.Sprintf("This resource has changed %d times.", a.watchedChanges.Load()))}
			},
		},
	}
}

// change changes the watched resource every so often until the connection
// ends, and tells those who subscribed to it.
func (c *conn) changeWatchedResource(a *officialFeatures) {
	tick := time.NewTicker(a.stepDelay * stepsPerWatchedChange)
	defer tick.Stop()
	for {
		select {
		case <-c.closing:
			return
		case <-c.ctx.Done():
			return
		case <-tick.C:
			a.watchedChanges.Add(1)
			c.notifyUpdated(watchedURI)
		}
	}
}

func officialTemplate() *Template {
	return &Template{"test://template/{id}/data", "template", "Template", "Data by its id", "application/json", func(r *Reading) []Object {
		id := r.Vars["id"]
		if id == "" {
			return nil
		}
		return []Object{textContents(r.URI, "application/json", fmt.Sprintf(`{"id":%s,"templateTest":true,"data":%s}`, encode(id), encode("Data for ID: "+id)))}
	}}
}

// prompts are the prompts of the contract.
func (a *officialFeatures) prompts() []*Prompt {
	return []*Prompt{
		{
			Name: "test_simple_prompt", Description: "One sentence",
			Messages: func(*promptGet) []Message {
				return []Message{userMessage(textBlock("This is a simple prompt for testing."))}
			},
		},
		{
			Name: "test_prompt_with_arguments", Description: "Says its arguments",
			Args: []Argument{{"arg1", "First", "First test argument", true}, {"arg2", "Second", "Second test argument", true}},
			Messages: func(p *promptGet) []Message {
				return []Message{userMessage(textBlock(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", p.Args["arg1"], p.Args["arg2"])))}
			},
		},
		{
			Name: "test_prompt_with_embedded_resource", Description: "Holds a resource",
			Args: []Argument{{"resourceUri", "Resource", "URI of the resource to embed", true}},
			Messages: func(p *promptGet) []Message {
				return []Message{
					userMessage(embeddedBlock(textContents(p.Args["resourceUri"], "text/plain", "Embedded resource content for testing."))),
					userMessage(textBlock("Please process the embedded resource above.")),
				}
			},
		},
		{
			Name: "test_prompt_with_image", Description: "Shows a picture",
			Messages: func(*promptGet) []Message {
				return []Message{userMessage(unannotatedImage()), userMessage(textBlock("Please analyze the image above."))}
			},
		},
		{
			Name: "test_input_required_result_prompt", Description: "Asks the user for its context", In: elicitationRevisions,
			Asks: func() []Ask {
				return []Ask{fieldElicitation("user_context", "What context should the prompt use?", "context", "string")}
			},
			Messages: func(p *promptGet) []Message {
				context := "no context"
				if o, ok := p.Answers["user_context"]["content"].(Object); ok {
					context = stringOf(o["context"])
				}
				return []Message{userMessage(textBlock("Answer in this context: " + context))}
			},
		},
		{
			Name: "test_dynamic_prompt", Description: "Comes and goes", Offered: a.promptListed.Load,
			Messages: func(*promptGet) []Message { return []Message{userMessage(textBlock("I am still here."))} },
		},
	}
}

// officialCandidates are the values of an argument of the contract, by its
// name; nil for others.
func officialCandidates(name string) []string {
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
