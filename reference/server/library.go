package server

import (
	"fmt"
	"sync"
)

// A Library is what the server offers. Faults may change it before the server
// starts; afterwards only its loans and its reading room change.
type Library struct {
	Info         Object // Implementation
	Capabilities Object // ServerCapabilities
	Instructions string
	PageSize     int
	toolPageSize int // entries of a page of tools; 0: PageSize
	Tools        []*Tool
	Resources    []*Resource
	Templates    []*Template
	Prompts      []*Prompt
	Skills       []*Skill

	mu              sync.Mutex
	loans           map[string]string // reader by id of the book
	readingRoomOpen bool
	official        *officialFeatures // nil where the public conformance contract is not offered
}

// A book of the collection.
type book struct {
	id, title, author, shelf string
	year                     int
	description              string
}

func newFeatures() *Library {
	return &Library{
		Info: Object{
			"name": "harbour-street-library", "title": "Harbour Street Library", "version": "1.0.0",
			"description": "The lending desk of a small library that never was",
			"websiteUrl":  "https://library.example/desk",
			"icons":       icons(),
		},
		Capabilities: Object{
			"logging":     Object{},
			"completions": Object{},
			"prompts":     Object{"listChanged": true},
			"resources":   Object{"subscribe": true, "listChanged": true},
			"tools":       Object{"listChanged": true},
			"tasks":       Object{"list": Object{}, "cancel": Object{}, "requests": Object{"tools": Object{"call": Object{}}}},
		},
		Instructions: "Search the catalogue before you lend a book. Book ids look like b7, readers are called by their first name.",
		PageSize:     4,
		Tools:        libraryTools(),
		Resources:    libraryResources(),
		Templates:    libraryTemplates(),
		Prompts:      libraryPrompts(),
		loans:        map[string]string{"b3": "ines"},
	}
}

// books is the collection, in the order of their ids.
func books() []book {
	return []book{
		{"b1", "The Tin Lighthouse", "Mara Quist", "A1", 1931, "A keeper counts ships that nobody else can see."},
		{"b2", "Salt and Ledger", "Oren Vale", "A1", 1948, "The accounts of a herring port, told by its last clerk."},
		{"b3", "A Field Guide to Fog", "Mara Quist", "A2", 1936, "Forty kinds of fog, and how to walk through each of them."},
		{"b4", "The Clockmaker's Orchard", "Tomas Reed", "B1", 1902, "Apples that ripen on the hour trouble a village."},
		{"b5", "Letters to a Drowned Town", "Ines Aldana", "B1", 1977, "A postwoman keeps her round above the reservoir."},
		{"b6", "Small Engines of Night", "Oren Vale", "B2", 1953, "What the night trains carried, and for whom."},
		{"b7", "The Paper Harbour", "Ines Aldana", "B2", 1981, "An atlas of ports folded from old newspapers."},
		{"b8", "Winter Grammar", "Kaisa Holm", "C1", 1965, "A teacher names each snow and forgets the word for home."},
		{"b9", "On Borrowing", "Tomas Reed", "C1", 1911, "Essays on umbrellas, ladders, sugar and trust."},
		{"b10", "Die Brücke im Regen", "Kaisa Holm", "C2", 1970, "Ein Roman über eine Brücke, die niemand gebaut hat."},
		{"b11", "海辺の図書館", "Sato Rin", "C2", 1994, "A library by the sea lends its books to the tide."},
		{"b12", "The Index of Weather", "Mara Quist", "A2", 1940, "Every storm of one coast, by name, with remarks."},
	}
}

func findBook(id string) (book, bool) {
	for _, b := range books() {
		if b.id == id {
			return b, true
		}
	}
	return book{}, false
}

func (b book) uri() string { return "library://books/" + b.id }

func (b book) markdown() string {
	return fmt.Sprintf("# %s\n\n%s, %d, shelf %s\n\n%s\n", b.title, b.author, b.year, b.shelf, b.description)
}

func (b book) object() Object {
	return Object{"id": b.id, "title": b.title, "author": b.author, "year": b.year}
}

// lend notes a loan; it fails for a book that is out.
func (l *Library) lend(id, reader string) (holder string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder, out := l.loans[id]; out {
		return holder, false
	}
	l.loans[id] = reader
	return reader, true
}

// takeBack ends a loan; it fails for a book that is in.
func (l *Library) endLoan(id string) (holder string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	holder, ok = l.loans[id]
	delete(l.loans, id)
	return holder, ok
}

// holder returns who has the book, "" for nobody.
func (l *Library) holder(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loans[id]
}

// setRoom opens or closes the reading room and tells whether that changed it.
func (l *Library) setReadingRoom(open bool) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed = l.readingRoomOpen != open
	l.readingRoomOpen = open
	return changed
}

func (l *Library) readingRoomIsOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readingRoomOpen
}
