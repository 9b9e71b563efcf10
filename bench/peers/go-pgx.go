// The same service in Go, as it is usually written: net/http, and one INSERT for each request, from a pool of pgx.
package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v4/pgxpool"
)

type newPlant struct {
	ID   *int64  `json:"id"`
	Name *string `json:"name"`
	Tag  *string `json:"tag"`
}

type plant struct {
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

// Each connection prepares it once.
const insert = "INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING"

func main() {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 10
	pool, err := pgxpool.ConnectConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	expected := []byte("Bearer " + os.Getenv("ACCESS_TOKEN"))

	http.HandleFunc("/plants", func(response http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			refuse(response, http.StatusMethodNotAllowed, "POST only")
			return
		}
		if subtle.ConstantTimeCompare([]byte(request.Header.Get("Authorization")), expected) != 1 {
			refuse(response, http.StatusUnauthorized, "Unauthorized")
			return
		}
		var body newPlant
		if json.NewDecoder(request.Body).Decode(&body) != nil || body.ID == nil || body.Name == nil {
			refuse(response, http.StatusBadRequest, "a plant has an integer id, a name, and perhaps a tag")
			return
		}
		inserted, err := pool.Exec(request.Context(), insert, *body.ID, *body.Name, body.Tag)
		if err != nil {
			refuse(response, http.StatusInternalServerError, err.Error())
			return
		}
		if inserted.RowsAffected() == 0 {
			refuse(response, http.StatusConflict, "the id is taken")
			return
		}
		answer(response, http.StatusOK, plant{*body.Name, body.Tag})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func refuse(response http.ResponseWriter, status int, message string) {
	answer(response, status, map[string]string{"message": message})
}

func answer(response http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		log.Fatal(err)
	}
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	response.Write(text)
}
