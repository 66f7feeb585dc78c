// Package search may use what its parent may.
package search

import _ "ratchet/internal/patch"
