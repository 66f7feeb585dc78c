package wire

// Kinds of Entry.
const (
	EntryFile   = "file"   // regular, readable
	EntryFolder = "folder" // its entries follow, if they can be read
	EntryOther  = "other"  // a symlink, a pipe, a file that cannot be read, a name that is no text
	EntryMore   = "more"   // there is more than was asked for
)

// Entry is one thing that a listing found. Entries are sent as JSON objects one
// after the other, in KindBytes frames.
type Entry struct {
	Path string `json:"path"` // from the folder that was listed
	Kind string `json:"kind"`
	Exec bool   `json:"exec,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes, of a file
}
