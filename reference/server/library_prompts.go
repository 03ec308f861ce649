package server

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func bookArgument(name string) Argument {
	return Argument{name, "Book", "The id of a book, such as b7", true}
}

// fixedPrompt returns the messages of a prompt without arguments.
func fixedPrompt(messages ...Message) func(*promptGet) []Message {
	return func(*promptGet) []Message { return messages }
}

// textPrompt returns the message of a prompt that is a text.
func textPrompt(format string, args ...any) []Message {
	return []Message{userMessage(textBlock(fmt.Sprintf(format, args...)))}
}

// libraryPrompts returns the prompts of the library, in the order of prompts/list.
func libraryPrompts() []*Prompt {
	return []*Prompt{
		{
			Name: "story_hour", Title: "Story hour", Description: "Opens the story hour for children",
			Messages: fixedPrompt(
				userMessage(textBlock("Tell a short story in which a book is returned a hundred years late.")),
				Message{"assistant", textBlock("Once the tide had turned, the librarian heard a knock.")},
			),
		},
		{
			Name: "recommend_book", Title: "Recommend a book",
			Description: "Asks for a recommendation from the collection",
			Args: []Argument{
				{"genre", "Genre", "What kind of book it shall be", true},
				{"mood", "Mood", "What it shall feel like", false},
			},
			Messages: func(p *promptGet) []Message {
				return textPrompt("Recommend a book of the genre %q in the mood %q. The collection holds: %s.",
					p.Args["genre"], p.Args["mood"], bookTitles())
			},
		},
		{
			Name: "summarise_book", Title: "Summarise a book",
			Description: "Asks for a summary of the record of a book",
			Args:        []Argument{bookArgument("book")},
			Messages: func(p *promptGet) []Message {
				b, ok := findBook(p.Args["book"])
				if !ok {
					return nil
				}
				record := embeddedBlock(textContents(b.uri(), markdown, b.markdown()))
				return append(textPrompt("Summarise this record in one sentence."), userMessage(record))
			},
		},
		{
			Name: "compare_books", Title: "Compare two books", Description: "Asks what two books have in common",
			Args: []Argument{bookArgument("first"), bookArgument("second")},
			Messages: func(p *promptGet) []Message {
				a, okA := findBook(p.Args["first"])
				b, okB := findBook(p.Args["second"])
				if !okA || !okB {
					return nil
				}
				return textPrompt("What do %q and %q have in common?", a.title, b.title)
			},
		},
		{
			Name: "find_title", Title: "Find a title", Description: "Asks for a title by its author",
			Args: []Argument{
				{"author", "Author", "Who wrote it", true},
				{"title", "Title", "The title or its beginning", false},
			},
			Messages: func(p *promptGet) []Message {
				return textPrompt("Is there a book by %q whose title begins with %q?", p.Args["author"],
					p.Args["title"])
			},
		},
		{
			Name: "describe_cover", Title: "Describe a cover", Description: "Asks for a description of a cover",
			Messages: fixedPrompt(
				userMessage(textBlock("Describe this cover to somebody who cannot see it.")),
				userMessage(imageBlock(coverPNG(2))),
			),
		},
		{
			Name: "overdue_notice", Title: "Overdue notice", Description: "Asks for a friendly notice to a reader",
			Args: []Argument{{"reader", "Reader", "The first name of the reader", true}},
			Messages: func(p *promptGet) []Message {
				return textPrompt("Write a friendly notice to %s about a book that is due.", p.Args["reader"])
			},
		},
		{
			Name: "shelve_cart", Title: "Shelve the cart",
			Description: "Asks in which order to shelve a cart of books",
			Args:        []Argument{{"shelf", "Shelf", "Where the cart stands", false}},
			Messages: func(p *promptGet) []Message {
				return textPrompt("In which order do I shelve b2, b5 and b9, starting at shelf %s?", p.Args["shelf"])
			},
		},
		{
			Name: "daily_quiz", Title: "Quiz of the day", Description: "Asks a question about the collection",
			Messages: fixedPrompt(textPrompt("Which author of the collection wrote about fog?")...),
		},
		{
			Name: "name_the_bell", Title: "Name the bell", Description: "Asks for a name for the desk bell",
			In:       spec.Since(spec.V2025_03_26),
			Messages: fixedPrompt(userMessage(audioBlock(bellWAV()))),
		},
		{
			Name: "follow_link", Title: "Follow a link", Description: "Asks to read a record and say what it is about",
			In:       spec.Since(spec.V2025_06_18),
			Messages: fixedPrompt(userMessage(linkBlock(books()[4]))),
		},
		{
			// A header can hold this name only in its encoded form.
			Name: "märchenstunde", Title: "Fairy-tale hour", Description: "Asks for a fairy tale from the harbour",
			In:       spec.Stateless,
			Messages: fixedPrompt(textPrompt("Tell a fairy tale of a lighthouse, in German.")...),
		},
		{
			Name: "room_etiquette", Title: "Etiquette", Description: "Asks for the manners of the reading room",
			Offered:  (*Features).readingRoomIsOpen,
			Messages: fixedPrompt(textPrompt("How does one turn a page without being heard?")...),
		},
		{
			Name: "welcome_letter", Title: "Welcome letter",
			Description: "Asks for a letter to a new reader, whose name it asks for",
			In:          elicitationRevisions,
			InputRequests: func() []InputRequest {
				name := Object{"type": "string", "title": "Name", "minLength": 1}
				return []InputRequest{formElicitation("reader", "Who shall get the letter?", Object{"name": name},
					"name")}
			},
			Messages: func(p *promptGet) []Message {
				name := "a reader who would not be named"
				if content, ok := p.Answers["reader"]["content"].(Object); ok {
					name = stringOf(content["name"])
				}
				return textPrompt("Write a letter of welcome to %s.", name)
			},
		},
	}
}
